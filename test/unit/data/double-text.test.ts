import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDouble, formatFloat, shortestDoubleOfFloat } from '../../../src/data/double-text.ts';

test.each([
  [1, '1.0'],
  [-0, '-0.0'],
  [0, '0.0'],
  [0.1, '0.1'],
  [0.001, '0.001'],
  [0.0001, '1.0E-4'],
  [1234567, '1234567.0'],
  [1e7, '1.0E7'],
  [-12345678.9, '-1.23456789E7'],
  [123456.789, '123456.789'],
  [9.223372036854776e18, '9.223372036854776E18'],
  [5e-324, '4.9E-324'],
  [1.7976931348623157e308, '1.7976931348623157E308'],
  [1 / 3, '0.3333333333333333'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [Number.NEGATIVE_INFINITY, '-Infinity'],
])('the double %d prints as %s', (value, expected) => {
  expect(formatDouble(value)).toBe(expected);
});

test.each([
  [0.1, '0.1'],
  [1.5, '1.5'],
  [16777216, '1.6777216E7'],
  [3.4028234663852886e38, '3.4028235E38'],
  [1.401298464324817e-45, '1.4E-45'],
  [1 / 3, '0.33333334'],
])('the float %d prints as %s', (value, expected) => {
  expect(formatFloat(Math.fround(value))).toBe(expected);
});

test('every text reads back as its number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (value) => {
      expect(Number(formatDouble(value))).toBe(value);
    }),
  );
  fc.assert(
    fc.property(fc.float({ noNaN: true }), (value) => {
      expect(Math.fround(Number(formatFloat(value)))).toBe(value);
      expect(Math.fround(shortestDoubleOfFloat(value))).toBe(value);
    }),
  );
});

describe('as Java 17 prints, also where fewer digits would do', () => {
  test.each([
    ['43b54de301afcac5', '1.53513264438698112E18'],
    ['7c50000000000000', '6.2370009672959994E290'],
    ['4a10000000000000', '5.8460065493236117E48'],
    ['46a4f4c24f8f3df1', '2.1252E32'],
    ['40ae4723d70a3d71', '3875.57'],
    ['c3c63f8beeaf96b9', '-3.2063076992631076E18'],
    ['40a9638f5c28f5c3', '3249.78'],
    ['4450000000000000', '1.1805916207174113E21'],
    ['3b8be17f7f7bf59f', '7.38E-22'],
    ['599110489f3fcbea', '2.82E123'],
    ['ccf1', '2.5921E-319'],
    ['e855ebdd6ae01a4d', '-4.000593814890074E194'],
    ['c3dbc05889a04d2b', '-7.9987823307027036E18'],
    ['40c1d62147ae147b', '9132.26'],
    ['40a0393851eb851f', '2076.61'],
    ['3dfe5cd3701103a2', '4.4183400000000005E-10'],
    ['409d5570a3d70a3d', '1877.36'],
    ['428d80d5da157fda', '4.0548976073439814E12'],
    ['81cb877c29798489', '-5.138407312325331E-300'],
    ['c3a097d1ee29f35b', '-5.9782752346319603E17'],
    ['560799dd478cf13e', '2.7064467924867572E106'],
    ['3fec9737542a23c0', '0.893459'],
    ['d1bf31da2bfe6336', '-6.060104184568893E85'],
    ['c3dc538a04740f4d', '-8.1645072314425149E18'],
    ['41836ffc0c94513e', '4.076326557242058E7'],
    ['3bfbd6d63a20446b', '9.43229E-20'],
    ['3ede6670c5b41d0f', '7.247962538820735E-6'],
  ])('the double of bits %s is %s', (hex, expected) => {
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64BE(BigInt(`0x${hex}`));
    expect(formatDouble(bits.readDoubleBE())).toBe(expected);
  });

  test.each([
    ['5a800000', '1.80143985E16'],
    ['69000000', '9.6714065E24'],
    ['6a417206', '5.8465285E25'],
    ['4f000000', '2.14748365E9'],
    ['12000000', '4.0389678E-28'],
    ['efe98af2', '-1.4455596E29'],
    ['4146ac08', '12.417'],
    ['4d000000', '1.34217728E8'],
    ['9510634d', '-2.9158903E-26'],
    ['42a39cac', '81.806'],
    ['36800000', '3.8146973E-6'],
    ['e79472ae', '-1.4020514E24'],
    ['2e02f0be', '2.97724E-11'],
    ['41d0ef9e', '26.117'],
    ['0', '0.0'],
    ['424c872b', '51.132'],
    ['1c1c', '1.0084E-41'],
    ['bf52d609', '-0.8235784'],
    ['714', '2.539E-42'],
    ['4e800000', '1.07374182E9'],
    ['50800000', '1.71798692E10'],
    ['53000000', '5.4975581E11'],
    ['424aab02', '50.667'],
    ['1d65', '1.0545E-41'],
    ['42a5e9fc', '82.957'],
    ['97a13df9', '-1.0420025E-24'],
    ['4e8aa1b1', '1.16292621E9'],
    ['ce9be4bf', '-1.30772979E9'],
    ['ce30a67c', '-7.4092518E8'],
  ])('the float of bits %s is %s', (hex, expected) => {
    const bits = Buffer.alloc(4);
    bits.writeUInt32BE(Number.parseInt(hex, 16));
    expect(formatFloat(bits.readFloatBE())).toBe(expected);
  });
});
