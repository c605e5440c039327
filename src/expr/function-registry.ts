import { nearestNames } from '../base/nearest-name.ts';
import type { FaultError, Place } from '../base/place.ts';
import { fault } from './faults.ts';
import type { FunctionDefinition } from './function.ts';
import { arithmeticFunctions } from './functions/arithmetic.ts';
import { arrayFunctions } from './functions/array.ts';
import { arraySetFunctions } from './functions/array-set.ts';
import { bitmapFunctions } from './functions/bitmap.ts';
import { bitFunctions } from './functions/bits.ts';
import { castFunctions } from './functions/casts.ts';
import { cipherFunctions } from './functions/cipher.ts';
import { conditionalFunctions } from './functions/conditional.ts';
import { csvFunctions } from './functions/csv.ts';
import { dateFunctions } from './functions/date.ts';
import { datetimeFormatFunctions } from './functions/datetime-format.ts';
import { datetimeMakeFunctions } from './functions/datetime-make.ts';
import { encodingFunctions } from './functions/encoding.ts';
import { hashFunctions } from './functions/hash.ts';
import { higherOrderFunctions } from './functions/higher-order.ts';
import { jsonFunctions } from './functions/json.ts';
import { mapFunctions } from './functions/map.ts';
import { mathFunctions } from './functions/math.ts';
import { miscFunctions } from './functions/misc.ts';
import { numberFormatFunctions } from './functions/number-format.ts';
import { numberTextFunctions } from './functions/number-text.ts';
import { randomFunctions } from './functions/random.ts';
import { regexpFunctions } from './functions/regexp.ts';
import { sequenceFunctions } from './functions/sequence.ts';
import { stringFunctions } from './functions/string.ts';
import { structFunctions } from './functions/struct.ts';
import { textToolFunctions } from './functions/text-tools.ts';
import { timeFunctions } from './functions/time.ts';
import { timestampFunctions } from './functions/timestamp.ts';
import { variantFunctions } from './functions/variant.ts';
import { variantChangeFunctions } from './functions/variant-change.ts';
import { vectorFunctions } from './functions/vector.ts';
import { isSparkFunction } from './spark-functions.ts';

/** All functions by their names in lower case. Invariant: no name stands for two functions. */
const functions: ReadonlyMap<string, FunctionDefinition> = byName([
  arithmeticFunctions,
  arrayFunctions,
  arraySetFunctions,
  datetimeFormatFunctions,
  encodingFunctions,
  regexpFunctions,
  sequenceFunctions,
  bitFunctions,
  datetimeMakeFunctions,
  numberFormatFunctions,
  textToolFunctions,
  numberTextFunctions,
  castFunctions,
  conditionalFunctions,
  csvFunctions,
  dateFunctions,
  hashFunctions,
  higherOrderFunctions,
  jsonFunctions,
  mapFunctions,
  mathFunctions,
  miscFunctions,
  stringFunctions,
  structFunctions,
  timeFunctions,
  bitmapFunctions,
  cipherFunctions,
  randomFunctions,
  vectorFunctions,
  timestampFunctions,
  variantFunctions,
  variantChangeFunctions,
]);

function byName(
  kinds: readonly (readonly FunctionDefinition[])[],
): Map<string, FunctionDefinition> {
  const map = new Map<string, FunctionDefinition>();
  for (const definition of kinds.flat()) {
    for (const name of definition.names) {
      if (map.has(name)) throw new Error(`the function ${name} is defined twice`);
      map.set(name, definition);
    }
  }
  return map;
}

export function findFunction(name: string): FunctionDefinition | undefined {
  return functions.get(name.toLowerCase());
}

export function functionNames(): readonly string[] {
  return [...functions.keys()];
}

/** The fault of a name that is no function here: unknown to Spark too, or not built yet. */
export function unknownFunction(name: string, place: Place): FaultError {
  if (isSparkFunction(name)) {
    return fault(
      'NOT_SUPPORTED',
      `the function ${name} is not supported`,
      place,
      'Spark has this function, this service does not have it yet.',
    );
  }
  const near = nearestNames(name, functionNames());
  return fault(
    'UNRESOLVED_ROUTINE',
    `there is no function ${name}`,
    place,
    near.length === 0 ? undefined : `Did you mean ${near.join(', ')}?`,
  );
}
