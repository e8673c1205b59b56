/** A migration of the schema. Never edit one after it was released. */
export interface Migration {
  number: number;
  sql: string;
}
