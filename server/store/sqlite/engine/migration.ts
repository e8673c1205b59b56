/** A migration of the schema. Never edit one that was released: any earlier archive must still open. */
export interface Migration {
  number: number;
  sql: string;
}
