-- verify_counts_by_file: A file's documents and quarantined lines are as many as the tables hold of it.
select
    files.file,
    [files.documents, files.quarantined] as stated,
    [coalesce(parsed.n, 0), coalesce(bad.n, 0)] as counted
from files
left join (select file, count(*) as n from documents group by file) as parsed using (file)
left join (select file, count(*) as n from quarantine group by file) as bad using (file)
where files.status = 'read' and (files.documents <> coalesce(parsed.n, 0) or files.quarantined <> coalesce(bad.n, 0))
order by files.file
