-- SET knows the time zone
SET timzone = 'UTC';
-- @1 SETTING_UNKNOWN
SET timezone = 'Europe/Nowhere';
-- @1 SETTING_VALUE
