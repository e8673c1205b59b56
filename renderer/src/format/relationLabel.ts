/** A DataCite relation as text: `IsSupplementTo` as `is supplement to`. */
export function relationLabel(relation: string): string {
  return relation.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
