-- provenance_complete: Every document in the shards has a source, a url and a licence.
select id, source_id, url, license_spdx
from shards
where source_id = '' or url = '' or license_spdx = '' or not starts_with(id, source_id || ':')
