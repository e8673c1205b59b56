/** The groups of operations in the API documentation, in display order. */
export const ROUTE_TAGS = {
  Nodes: 'The tree that organizes studies and packs.',
  Packs: 'Bundles of research data with a record, a licence and an outcome, identified by their fingerprint.',
  Studies: 'Questions that packs answer, with a status and a table of results.',
  Comments: 'Comments on packs and studies.',
  Citations: 'Citations of packs and studies.',
  Harvesting: 'The packs for harvesters, by OAI-PMH 2.0.',
  Blobs: 'The bytes of files, identified by their SHA-256.',
  Ledger: 'The append-only log of everything recorded, and the proofs that it was never rewritten.',
  Dump: 'The whole archive as one stream.',
  Collection: 'The watched sources and the state of the collection.',
  Timeline: 'The events of each source: first seen, changed, unavailable and so on.',
  Objects: 'Retrieved bytes, exactly as they were received.',
  Mementos: 'Observations by URL and time, in the Memento protocol (RFC 7089).',
  Findings: 'Notes of the owner on events, objects and packs, recorded in the ledger.',
  Cases: 'Ordered lists of events, packs and findings, exported with their evidence.',
  Node: 'The node and the session of the client.',
  Manage: 'Operations for the owner only.',
  Description: 'The documentation of this API.',
} as const;

export type RouteTag = keyof typeof ROUTE_TAGS;
