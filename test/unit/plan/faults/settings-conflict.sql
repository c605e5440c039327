-- A pipeline has one time zone
SET timezone = 'Europe/Warsaw';
SET timezone = 'UTC';
-- @1 SETTING_CONFLICT
