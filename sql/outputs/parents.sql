-- parents: each parent that a document names; one in no raw file is dangling and stays on record.
--
-- Where documents name each other, or one itself, no one knows which was made from which: each link of such a circle is
-- recorded as one. They are relatives all the same.
--
-- column: id VARCHAR | the document
-- column: named VARCHAR | the parent as its raw line names it
-- column: parent VARCHAR | that document's id, null when there is none
-- column: status VARCHAR | document, circle (a document that has this one as an ancestor in turn), quarantined (a line that could not be read) or dangling (in no raw file)
with
    circles as (
        select numbered.id as id, circles.circle as circle
        from relations.circles as circles
        join relations.numbered as numbered on numbered.place = circles.place
    )
select
    links.id as id,
    links.named as named,
    links.parent as parent,
    case when own.circle = theirs.circle then 'circle' else links.status end as status
from relations.parents as links
left join circles as own on own.id = links.id
left join circles as theirs on theirs.id = links.parent
