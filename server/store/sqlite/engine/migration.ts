/** A migration of the schema. Never edit one that is on the main branch: any earlier archive must still open. */
export interface Migration {
  number: number;
  sql: string;
}
