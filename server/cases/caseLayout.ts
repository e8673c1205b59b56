import type { Case } from '../../shared/findings/case.ts';

/** The paths in the bag of a case, below `data/`. */
export const CASE_PATHS = {
  index: 'index.html',
  readme: 'README.txt',
  record: 'case.json',
  annotations: 'findings.jsonld',
  finding: (id: string) => ({
    record: `findings/${id}.json`,
    entry: `findings/${id}.entry.json`,
    proof: `findings/${id}.tlog-proof`,
  }),
  evidence: (name: string) => `evidence/${name}.evidence.html`,
  pack: (id: string) => `packs/${id}.pack.zip`,
  /** Without an extension, so that no program opens archived content by itself. */
  object: (sha256: string) => `objects/${sha256}`,
};

/** Says what is in the bag and how to check it. */
export function readmeText({ id, title, changed_at }: Case): string {
  return `${title}
Case ${id}, as it was changed last on ${changed_at}.

Open index.html in a browser. It needs no network and runs no script.

  evidence/   One evidence file for each event and pack. Open it in a browser: it checks itself.
  packs/      The pack files. Each is a ZIP with a BagIt bag.
  objects/    The bytes of web sources exactly as they were retrieved. The name of each file is its SHA-256.
              They may contain scripts: open them with care.
  findings/   For each finding what the ledger records (.json), its ledger entry (.entry.json), and the proof that
              the entry is in the ledger (.tlog-proof, C2SP). The SHA-256 of the .json is the "digest" in the entry.
  findings.jsonld   All findings as a W3C Web Annotation collection.
  case.json         The case: its items in their order, with the notes.

To check that no file was changed:

  sha256sum -c manifest-sha256.txt      in the folder above this one
  strongroom verify THE-ZIP-OR-FOLDER   the same, with Strongroom
  strongroom verify data/evidence/*     checks the evidence itself: signatures, proofs and digests
  strongroom verify data/packs/*        checks each pack

The notes, the title and the order of the case are the owner's and can be changed. No ledger entry covers them.
`;
}
