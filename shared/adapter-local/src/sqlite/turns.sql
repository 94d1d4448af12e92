-- Rows no longer wait for turns: those that did are due when they were due. The columns parked and paced are not used.

UPDATE webhook_deliveries SET parked = 0 WHERE parked = 1;
DROP INDEX deliveries_parked;
DROP TABLE pace;
