-- report_quarantine: three quarantined lines for each reason, the first by the MD5 of their ids.
select reason, id, file, line, byte_offset, detail
from (
    select reason, id, file, line, byte_offset, detail, row_number() over (partition by reason order by md5(id), id) as place
    from quarantine
) as numbered
where place <= 3
order by reason, place
