-- Blocks that contain the addresses that DNS may return for a private name (docs/decisions/0161). NULL is the default:
-- the networks of each gateway.
ALTER TABLE addresses ADD COLUMN answers_within text[] CHECK (cardinality(answers_within) BETWEEN 1 AND 32);
