import fc from 'fast-check';
import type { DataType } from '../../../src/data/types.ts';
import type { Value } from '../../../src/data/value.ts';

/** Random types and random values of them, for the property tests of the data room. */

const scalarTypes: fc.Arbitrary<DataType> = fc.oneof(
  fc.constantFrom<DataType>(
    { kind: 'boolean' },
    { kind: 'tinyint' },
    { kind: 'smallint' },
    { kind: 'int' },
    { kind: 'bigint' },
    { kind: 'float' },
    { kind: 'double' },
    { kind: 'string' },
    { kind: 'binary' },
    { kind: 'date' },
    { kind: 'timestamp' },
    { kind: 'timestamp_ntz' },
    { kind: 'time', precision: 6 },
    { kind: 'interval_year_month', from: 'year', to: 'month' },
    { kind: 'interval_year_month', from: 'month', to: 'month' },
    { kind: 'interval_day_time', from: 'day', to: 'second' },
    { kind: 'interval_day_time', from: 'hour', to: 'second' },
    { kind: 'void' },
  ),
  fc
    .integer({ min: 1, max: 38 })
    .chain((precision) =>
      fc
        .integer({ min: 0, max: precision })
        .map((scale): DataType => ({ kind: 'decimal', precision, scale })),
    ),
);

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'id', 'Name', 'x_1', 'ö', 'payment_id'), {
  minLength: 1,
  maxLength: 3,
});

function nested(depth: number, withMaps: boolean): fc.Arbitrary<DataType> {
  if (depth === 0) return scalarTypes;
  const inner = nested(depth - 1, withMaps);
  const structs = names.chain((chosen) =>
    fc.array(inner, { minLength: chosen.length, maxLength: chosen.length }).map(
      (types): DataType => ({
        kind: 'struct',
        fields: chosen.map((name, index) => ({ name, type: types[index] ?? { kind: 'void' } })),
      }),
    ),
  );
  const arrays = inner.map((element): DataType => ({ kind: 'array', element }));
  const choices = [
    { weight: 4, arbitrary: scalarTypes },
    { weight: 1, arbitrary: arrays },
    { weight: 1, arbitrary: structs },
  ];
  if (withMaps) {
    choices.push({
      weight: 1,
      arbitrary: fc
        .tuple(scalarTypes, inner)
        .filter(([key]) => key.kind !== 'void')
        .map(([key, value]): DataType => ({ kind: 'map', key, value })),
    });
  }
  return fc.oneof(...choices);
}

/** Types of keys and sequences. */
export const orderableTypes: fc.Arbitrary<DataType> = nested(2, false);

/** Every type but variant and the calendar interval. */
export const anyTypes: fc.Arbitrary<DataType> = nested(2, true);

const texts = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.constantFrom('', 'a', '\u0000', '\u0000\u0001', '\uffff', '\u{1f600}', 'NULL', 'é', '"\\\n'),
);

const specialDoubles = [0, -0, 1, -1, NaN, Infinity, -Infinity, 0.1, 1e21, 5e-324, 2 ** 53];

/** Random values of one type; NULL is among them unless `nullable` is false. */
export function valuesOf(type: DataType, nullable = true): fc.Arbitrary<Value> {
  const values = presentValuesOf(type);
  if (!nullable) return values;
  return fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 6, arbitrary: values });
}

function presentValuesOf(type: DataType): fc.Arbitrary<Value> {
  switch (type.kind) {
    case 'void':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'tinyint':
      return fc.integer({ min: -128, max: 127 });
    case 'smallint':
      return fc.integer({ min: -32768, max: 32767 });
    case 'int':
    case 'interval_year_month':
      return fc.oneof(fc.integer(), fc.integer({ min: -3, max: 3 }));
    case 'bigint':
      return fc.oneof(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.bigInt({ min: -3n, max: 3n }),
      );
    case 'float':
      return fc.oneof(fc.float(), fc.constantFrom(...specialDoubles.map(Math.fround)));
    case 'double':
      return fc.oneof(fc.double(), fc.constantFrom(...specialDoubles));
    case 'decimal': {
      const limit = 10n ** BigInt(type.precision) - 1n;
      return fc.oneof(
        fc.bigInt({ min: -limit, max: limit }),
        fc.bigInt({ min: -9n, max: 9n }),
        fc.constantFrom(limit, -limit),
      );
    }
    case 'string':
      return texts;
    case 'binary':
      return fc.uint8Array({ maxLength: 5 });
    case 'date':
      return fc.integer({ min: -800_000, max: 3_000_000 });
    case 'timestamp':
    case 'timestamp_ntz':
      return fc.oneof(
        fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }),
        fc.bigInt({ min: -2n, max: 2n }),
        fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
      );
    case 'time':
      return fc.bigInt({ min: 0n, max: 86_399_999_999n }).map((micros) => micros * 1000n);
    case 'interval_day_time':
      return fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    case 'array':
      return fc.array(valuesOf(type.element), { maxLength: 3 });
    case 'struct':
      return fc.tuple(...type.fields.map((field) => valuesOf(field.type)));
    case 'map':
      return fc
        .uniqueArray(fc.tuple(valuesOf(type.key, false), valuesOf(type.value)), {
          maxLength: 3,
          selector: ([key]) => String(key),
        })
        .map((entries) => ({ entries }));
    default:
      throw new Error(`no values for ${type.kind}`);
  }
}
