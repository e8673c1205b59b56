/** The type of a column, in the terms of Table Schema. */
export type ColumnType = 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'string';

export interface Column {
  /** The name in the header. */
  name: string;
  type: ColumnType;
}

/** How missing values are written; R writes `NA`. */
const NOT_AVAILABLE = 'NA';

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/;

/** The first type that fits every value is the type of the column. A value with a leading zero is a code, not a number. */
const TYPES: [ColumnType, (value: string) => boolean][] = [
  ['integer', (value) => /^[+-]?(?:0|[1-9]\d*)$/.test(value) && Number.isSafeInteger(Number(value))],
  ['number', (value) => /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(value)],
  ['boolean', (value) => /^(?:true|false)$/.test(value)],
  ['date', (value) => /^\d{4}-\d\d-\d\d$/.test(value) && isDay(value)],
  [
    'datetime',
    (value) => DATE_TIME.test(value) && isDay(value.slice(0, 10)) && !Number.isNaN(Date.parse(value)),
  ],
];

/**
 * Returns the columns of a table and how it writes missing values, from its header and first rows. Returns undefined if
 * the header has an empty or a repeated name, because readers select columns by name.
 */
export function describeColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): { columns: Column[]; missing: string[] } | undefined {
  const names = new Set(header);
  if (header.length === 0 || names.size !== header.length || header.some((name) => name.trim() === '')) {
    return undefined;
  }
  let isNaMissing = false;
  const columns = header.map((name, index): Column => {
    const values = rows.map((row) => row[index] ?? '').filter((value) => value !== '');
    const available = values.filter((value) => value !== NOT_AVAILABLE);
    const type = typeOf(available);
    if (type !== 'string' && available.length < values.length) isNaMissing = true;
    return { name, type };
  });
  return { columns, missing: isNaMissing ? ['', NOT_AVAILABLE] : [''] };
}

function typeOf(values: readonly string[]): ColumnType {
  if (values.length === 0) return 'string';
  return TYPES.find(([, fits]) => values.every(fits))?.[0] ?? 'string';
}

/** JavaScript reads a day beyond the end of a month as a day of the next month. */
function isDay(date: string): boolean {
  const instant = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(date);
}
