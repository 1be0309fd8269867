-- report_files: raw files by status.
select status, count(*) as files, sum(bytes)::bigint as bytes, sum(lines)::bigint as lines, sum(bom)::bigint as bom
from files
group by status
order by status
