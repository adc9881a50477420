-- Pages of resources of one type in the order of their ids, the default order, read only this index.
CREATE INDEX resources_by_type ON resources (tenant_id, type, id);
