/** One numbered step of the schema; steps are never edited once a version with them is out. */
export interface Migration {
  number: number;
  sql: string;
}
