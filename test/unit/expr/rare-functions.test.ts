import { expect, test } from 'vitest';
import { Evaluator } from '../../../src/cli/eval-query.ts';
import { canonicalText } from '../../../src/data/canonical.ts';
import { formatType } from '../../../src/data/type-text.ts';

const evaluator = new Evaluator([], 'UTC');

/** `value type`, or the class of the error. */
function told(sql: string): string {
  const answer = evaluator.evaluate(`SELECT ${sql}`, 'query');
  if (answer.state === 'failed') return answer.code;
  const [column] = answer.columns;
  const [row] = answer.rows;
  if (column === undefined || row === undefined) return 'nothing';
  return `${canonicalText(column.type, row[0] ?? null)} ${formatType(column.type)}`;
}

const time = (clock: string, precision = 6) => `${clock} time(${precision})`;

test.each([
  ["TIME'01:02:03 PM'", time('13:02:03.000000000')],
  ["TIME'12:00:00 AM'", time('00:00:00.000000000')],
  ["TIME'13:00:00 PM'", 'INVALID_TYPED_LITERAL'],
  ["TIME'12:34:56.123456789'", time('12:34:56.123456789', 9)],
  ["CAST('23:59:59.001001' AS TIME(4))", time('23:59:59.001000000', 4)],
  ["CAST(TIME'12:34:56.789' AS INT)", '45296 int'],
  ["CAST(TIME'12:34:56.789' AS STRING)", '12:34:56.789 string'],
  ["extract(SECOND FROM CAST('09:08:01.987654' AS TIME(3)))", '1.987 decimal(5,3)'],
  ["hour(TIME'23:59:00.987654')", '23 int'],
  ["to_time('23-59-59.999999', 'HH-mm-ss.SSSSSS')", time('23:59:59.999999000')],
  ["to_time('13-60', 'HH-mm')", 'CANNOT_PARSE_TIME'],
  ['try_to_time(1)', 'DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE'],
  ["try_to_time('12:48:31 abc')", 'null time(6)'],
  ['make_time(1, 18, 19.87)', time('01:18:19.870000000')],
  ['make_time(1, 18, 60.0)', 'DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION'],
  ["time_trunc('MINUTE', TIME'12:34:56.1')", time('12:34:00.000000000')],
  ["time_trunc('MS', TIME'12:34:56')", 'INVALID_PARAMETER_VALUE.TIME_UNIT'],
  ["time_diff('HOUR', TIME'12:34:56', TIME'01:02:03')", '-11 bigint'],
  ["'08:30' :: TIME(0) - INTERVAL '6' HOUR", time('02:30:00.000000000', 0)],
  ["TIME'08:30' + NULL", 'null time(6)'],
  ["TIME'23:00:00' + INTERVAL '1' HOUR", 'DATETIME_OVERFLOW'],
  ["TIME'00:00' + 1", 'DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES'],
  ["TIME'12:30:41' - TIME'10:00'", "INTERVAL '02:30:41' HOUR TO SECOND interval hour to second"],
  ['time_from_seconds(52200.5)', time('14:30:00.500000000')],
  ['time_from_millis(86400000)', 'DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION'],
  ["time_to_seconds(TIME'14:30:00.5')", '52200.500000 decimal(14,6)'],
  [
    "make_timestamp(DATE'2014-12-28', TIME'6:30:45.887', 'CET')",
    '2014-12-28T05:30:45.887000Z timestamp',
  ],
  ['make_timestamp(2014, 12, 28, 6)', 'WRONG_NUM_ARGS.WITHOUT_SUGGESTION'],
])('a time of day: %s', (sql, expected) => {
  expect(told(sql)).toBe(expected);
});

test.each([
  ['rand(0)', '0.7604953758285915 double'],
  ['randn(0)', '1.6034991609278433 double'],
  ['uniform(10, 20, 0)', '17 int'],
  ['randstr(3, 0)', 'ceV string'],
  ['rand()', 'NOT_SUPPORTED'],
])('draws from a seed are those of Spark: %s', (sql, expected) => {
  expect(told(sql)).toBe(expected);
});

const key = "'abcdefghijklmnop12345678ABCDEFGH'";

test.each([
  [
    "base64(aes_encrypt('Spark SQL', '1234567890abcdef', 'ECB', 'PKCS'))",
    '3lmwu+Mw0H3fi5NDvcu9lg==',
  ],
  [
    `base64(aes_encrypt('Spark', ${key}, 'CBC', 'DEFAULT', unhex(repeat('00', 16))))`,
    'AAAAAAAAAAAAAAAAAAAAAPSd4mWyMZ5mhvjiAPQJnfg=',
  ],
  [
    `base64(aes_encrypt('Spark', ${key}, 'GCM', 'DEFAULT', unhex(repeat('00', 12)), 'This is an AAD mixed into the input'))`,
    'AAAAAAAAAAAAAAAAQiYi+sTLm7KD9UcZ2nlRdYDe/PX4',
  ],
  [
    "CAST(aes_decrypt(unbase64('2NYmDCjgXTbbxGA3/SnJEfFC/JQ7olk2VQWReIAAFKo='), '1234567890abcdef', 'CBC') AS STRING)",
    'Apache Spark',
  ],
])('AES: %s', (sql, expected) => {
  expect(told(sql)).toBe(`${expected} string`);
});

test('AES decrypts what it encrypted, whatever the key and the length, and nothing else', () => {
  for (const mode of ['ECB', 'CBC', 'GCM']) {
    for (const bytes of [16, 24, 32]) {
      for (const length of [0, 1, 15, 16, 17, 40]) {
        const iv = mode === 'ECB' ? '' : `, unhex(repeat('ab', ${mode === 'GCM' ? 12 : 16}))`;
        const password = `repeat('k', ${bytes})`;
        const cipher = `aes_encrypt(repeat('x', ${length}), ${password}, '${mode}', 'DEFAULT'${iv})`;
        const plain = `CAST(aes_decrypt(${cipher}, ${password}, '${mode}') AS STRING)`;
        expect(told(plain)).toBe(`${'x'.repeat(length)} string`);
      }
    }
  }
  const other =
    "aes_decrypt(aes_encrypt('x', '1234567890abcdef', 'GCM', 'NONE', unhex(repeat('00', 12))), '1234567890abcdeF')";
  expect(told(other)).toBe('INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR');
  expect(told(`try_${other}`)).toBe('null binary');
  expect(told("aes_encrypt('a', 'short', 'ECB')")).toBe('INVALID_PARAMETER_VALUE.AES_KEY_LENGTH');
  expect(told("aes_encrypt('a', '1234567890abcdef')")).toBe('NOT_SUPPORTED');
});

test.each([
  ["validate_utf8(x'80')", 'INVALID_UTF8_STRING'],
  ["try_validate_utf8(x'80')", 'null string'],
  ["make_valid_utf8(x'80')", '\ufffd string'],
  ['bitmap_bit_position(-32768)', '0 bigint'],
  ['bitmap_bucket_number(32769)', '2 bigint'],
  ["bitmap_count(x'FFFF')", '16 bigint'],
  [
    'bitmap_count(bitmap_construct_agg(bitmap_bit_position(c))) FROM VALUES (1), (2), (2) AS t(c)',
    '2 bigint',
  ],
  ["substring(hex(bitmap_or_agg(c)), 0, 4) FROM VALUES (x'10'), (x'20') AS t(c)", '3000 string'],
  ["substring(hex(bitmap_and_agg(c)), 0, 4) FROM VALUES (x'F0'), (x'30') AS t(c)", '3000 string'],
  [
    'vector_cosine_similarity(array(1.0F, 2.0F, 3.0F), array(4.0F, 5.0F, 6.0F))',
    '0.97463185 float',
  ],
  ['vector_l2_distance(array(1.0F), array(4.0F, 5.0F))', 'VECTOR_DIMENSION_MISMATCH'],
  ['vector_normalize(array(3.0F, 4.0F))', '[0.6,0.8] array<float>'],
  [
    'vector_avg(c) FROM VALUES (array(1.0F, 2.0F)), (array(3.0F, 4.0F)) AS t(c)',
    '[2,3] array<float>',
  ],
])('%s', (sql, expected) => {
  expect(told(sql)).toBe(expected);
});

test.each([
  ['CAST(7 AS int) + 1.5', '8.5 decimal(12,1)'],
  ['+7 + 1.5', '8.5 decimal(12,1)'],
  ['7 + 1.5', '8.5 decimal(3,1)'],
  ['int(7) * 1.5', '10.5 decimal(13,1)'],
  ['1.5F div 1.5BD', 'DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES'],
  ['1.5F | 1.5D', 'DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES'],
  ["concat('x', array(1))", 'DATATYPE_MISMATCH.DATA_DIFF_TYPES'],
  ['concat(array(1), map(1, 2))', 'DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE'],
  ['array_union(array(1), NULL)', 'DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES'],
  ['sequence(1, 10, INTERVAL 1 MONTH)', 'DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES'],
  ['ceil(NULL, 3)', 'null decimal(24,3)'],
  ["regexp_replace('abc', 'x', '$1')", 'abc string'],
  ["regexp_replace('abc', 'b', '$1')", 'INVALID_REGEXP_REPLACE'],
  ["date_format(NULL, 'u')", 'null string'],
  ["date_format(TIME'12:30:00', 'HH-mm')", '12-30 string'],
  ["to_char(12, 'abc')", 'INVALID_FORMAT.WRONG_NUM_DIGIT'],
  ["to_char(12, '9a')", 'INVALID_FORMAT.UNEXPECTED_TOKEN'],
  [
    "datediff(DATE'2020-03-01', DATE'2019-12-31', DATE'2020-01-01')",
    'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
  ],
  ["dateadd('DAY', 1, DATE'2020-01-01')", 'INVALID_PARAMETER_VALUE.DATETIME_UNIT'],
  [':x', 'UNBOUND_SQL_PARAMETER'],
  [
    "max_by(x, y, 2) FROM VALUES ('a', 10), ('b', 50), ('c', 20) AS t(x, y)",
    '["b","c"] array<string>',
  ],
  ['uniform(5, 6.1, 0)', '5.8 decimal(2,1)'],
  [
    'regr_avgx(y, x) FROM VALUES (1, 1.5), (2, 2.5), (NULL, 9.5) AS t(y, x)',
    '2.00000 decimal(6,5)',
  ],
  ['from_json(\'{"t":"12:34:56"}\', \'t TIME\')', '{"t":"12:34:56.000000000"} struct<t:time(6)>'],
])('what Spark answers to neighbours of common cases: %s', (sql, expected) => {
  expect(told(sql)).toBe(expected);
});

test.each([
  ["levenshtein('kitten', 'sitting')", '3 int'],
  ["levenshtein('', 'abc')", '3 int'],
  ["levenshtein('héllo 😀', 'hello 😃')", '2 int'],
  ["levenshtein('kitten', 'sitting', 2)", '-1 int'],
  ["levenshtein(repeat('a', 6000), repeat('b', 6000))", '6000 int'],
  ["levenshtein(repeat('a', 100000), repeat('b', 100000))", 'LEVENSHTEIN_TOO_LONG'],
  ["jaro_winkler_similarity(repeat('a', 100000), repeat('b', 100000))", 'LEVENSHTEIN_TOO_LONG'],
  [
    'exists(sequence(1, 100000), x -> exists(sequence(1, 100000), y -> x + y < 0))',
    'LAMBDA_STEP_LIMIT',
  ],
  ['flatten(transform(sequence(1, 100000), x -> array_repeat(x, 1000)))', 'LAMBDA_STEP_LIMIT'],
  ["aggregate(sequence(1, 40), 'a', (a, x) -> concat(a, a))", 'LAMBDA_STEP_LIMIT'],
  [
    'aggregate(sequence(1, 40), array(1), (a, x) -> concat(a, a))',
    'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION',
  ],
  ['size(flatten(array(sequence(1, 300000), array(1))))', '300001 int'],
  ["length(repeat('ab', 1000000000))", 'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION'],
  ["length(lpad('a', 1000000000, 'b'))", 'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION'],
  ["length(format_string('%.99999999f', 1.0D))", 'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION'],
])('a distance that would hold up everything else is refused: %s', (sql, expected) => {
  expect(told(sql)).toBe(expected);
});
