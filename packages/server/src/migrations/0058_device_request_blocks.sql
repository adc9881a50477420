-- Pending requests are counted per block of addresses, which is a /64 for IPv6 (docs/decisions/0113).

DELETE FROM device_requests;
ALTER TABLE device_requests ADD COLUMN address_group text NOT NULL;
DROP INDEX device_requests_by_address;
CREATE INDEX device_requests_by_address ON device_requests (address_group);
