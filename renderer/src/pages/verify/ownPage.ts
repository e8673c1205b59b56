import type { KnownPage } from '../../../../shared/proof/evidence/evidencePage.ts';

/** The page of the evidence files that this version writes. The build puts its digests here (`renderer/inlineScripts.ts`). */
export const OWN_PAGE: KnownPage | undefined = undefined;
