-- Tenants of a token, by their names; `*` stands for all. Null for tokens of earlier versions, which belong to none.
ALTER TABLE tokens ADD COLUMN tenants text[];

-- Tenants of the person or program that asked for an operation: it takes no order that they do not see. Null where they see all.
ALTER TABLE operations ADD COLUMN tenants text[];
