/**
 * The fields of a task's hash that are no keys. A key that begins with a zero byte gets one more in front
 * (`redis-requests.ts`), so no key's field is a zero byte and a letter.
 */
export const epochField = '\0e';
export const markField = '\0m';
/** Names the write that is under way, or was cut short: from which mark, to which, and the last piece that arrived. */
export const cutField = '\0w';

/**
 * Lua for the three ways in which a task's hash changes. Invariant: a hash with a mark holds exactly the state
 * at that mark.
 *
 * A script runs alone, so a write of one piece is atomic. A write of several pieces takes the mark away with
 * the first and sets the new one with the last; each piece but the first demands that the one before it, of the
 * same attempt, was the last thing that happened. So whatever gets lost, is repeated or comes late (a dropped
 * connection, a flush, an older image, a slot that moved, a script that the server had forgotten), the mark is
 * set only after all pieces arrived in order, on top of the mark that the write set out from.
 *
 * The first piece is accepted in four places: at the mark that the session saw last; at the mark that the write
 * leads to (the answer to it was lost: the same entries once more change nothing); over the rest of an earlier
 * attempt at the same write, which all of its entries overwrite; and over a hash that holds nothing but the
 * epoch. Everywhere else there are, or may be, entries of another state.
 *
 * Within a script the first change is an HSET, which a server that is out of memory refuses: then nothing has
 * happened yet.
 */
export const redisScripts = {
  /** KEYS: hash. ARGV: epoch. Answers 1 and the mark, or 0 and the higher epoch. */
  open: `
local epoch = redis.call('HGET', KEYS[1], '\\0e')
if epoch and tonumber(epoch) > tonumber(ARGV[1]) then return {0, epoch} end
redis.call('HSET', KEYS[1], '\\0e', ARGV[1])
return {1, redis.call('HGET', KEYS[1], '\\0m')}`,

  /**
   * KEYS: hash. ARGV: epoch, mark from, mark to, attempt, number of the piece, 1 if it is the last, number of
   * fields to set, fields and values, fields to delete. Answers 1, or 0 and the standing epoch, mark and cut.
   */
  write: `
local key = KEYS[1]
local standing = redis.call('HMGET', key, '\\0e', '\\0m', '\\0w')
local mark, cut = standing[2], standing[3]
local span = ARGV[2] .. '>' .. ARGV[3] .. '#'
local piece = tonumber(ARGV[5])
local goesOn
if standing[1] ~= ARGV[1] then
  goesOn = false
elseif piece > 0 then
  goesOn = cut == span .. ARGV[4] .. '#' .. (piece - 1)
elseif mark then
  goesOn = mark == ARGV[2] or mark == ARGV[3]
elseif cut then
  goesOn = string.sub(cut, 1, #span) == span
else
  goesOn = ARGV[2] == '-' and redis.call('HLEN', key) == 1
end
if not goesOn then return {0, standing[1] or '', mark or '', cut or ''} end
redis.call('HSET', key, '\\0w', span .. ARGV[4] .. '#' .. piece)
if mark then redis.call('HDEL', key, '\\0m') end
local stop = 7 + 2 * tonumber(ARGV[7])
for i = 8, stop, 2000 do
  redis.call('HSET', key, unpack(ARGV, i, math.min(i + 1999, stop)))
end
for i = stop + 1, #ARGV, 2000 do
  redis.call('HDEL', key, unpack(ARGV, i, math.min(i + 1999, #ARGV)))
end
if ARGV[6] == '1' then
  redis.call('HSET', key, '\\0m', ARGV[3])
  redis.call('HDEL', key, '\\0w')
end
return {1}`,

  /** KEYS: hash. ARGV: epoch. Answers 1, or 0 and the standing epoch. */
  clear: `
local epoch = redis.call('HGET', KEYS[1], '\\0e')
if epoch ~= ARGV[1] then return {0, epoch or ''} end
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], '\\0e', ARGV[1])
return {1}`,

  /** KEYS: hash. ARGV: epoch. Answers 1, or 0 and the higher epoch. */
  forget: `
local epoch = redis.call('HGET', KEYS[1], '\\0e')
if epoch and tonumber(epoch) > tonumber(ARGV[1]) then return {0, epoch} end
redis.call('UNLINK', KEYS[1])
return {1, false}`,
} as const;
