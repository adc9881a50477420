-- The sender of mails writes their results outside commands, and answers about users show them (0041).

CREATE TRIGGER count_observation AFTER UPDATE OF status, updated_at, error ON mails
  FOR EACH STATEMENT EXECUTE FUNCTION count_observation();
