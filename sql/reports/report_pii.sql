-- report_pii: what the scrub replaced in kept documents, by kind.
select pii.kind, count(*) as placeholders, count(distinct pii.id) as documents
from pii
join documents using (id)
where documents.verdict = 'keep'
group by pii.kind
order by placeholders desc, pii.kind
