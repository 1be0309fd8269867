-- lines_accounted: Every line of every raw file is a document, quarantined or blank.
select
    files.file,
    files.lines,
    files.blank,
    count(found.line) as found
from files
left join (select file, line from documents union all select file, line from quarantine) as found using (file)
where files.status = 'read'
group by all
having files.lines <> files.blank + count(found.line)
