import { selectorOf, type Watch } from '../../../../shared/collection/noise.ts';

/** The watched part in words: `Heading “Fees”`. */
export function watchWords(watch: Watch): string {
  const { value, columns } = selectorOf(watch);
  if ('region' in watch) return `Region of the picture: ${value}`;
  if ('heading' in watch) return `Heading “${value}”`;
  if (!('table' in watch)) return value;
  const table = /^\d+$/.test(value) ? `Table ${value}` : `Table “${value}”`;
  return `${table}${columns ? `: ${columns.join(', ')}` : ''}`;
}
