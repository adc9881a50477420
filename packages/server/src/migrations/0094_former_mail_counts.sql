-- The operator deletes the counts of former days of all tenants.
CREATE POLICY operator_sees_former ON mail_counts FOR SELECT
  USING (is_operator() AND day < (now() AT TIME ZONE 'UTC')::date);
CREATE POLICY operator_clears ON mail_counts FOR DELETE
  USING (is_operator() AND day < (now() AT TIME ZONE 'UTC')::date);
