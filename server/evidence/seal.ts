import type { Evidence } from '../../shared/proof/evidence.ts';
import { sealText } from '../../shared/proof/seal.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { nodeCrypto } from '../ledger/nodeCrypto.ts';

/** Signs the digest of each part, so that a change of any part is noticed, also where no proof covers it. */
export function sealed(evidence: Omit<Evidence, 'seal'>, checkpoints: Checkpoints): Evidence {
  const text = sealText(evidence, nodeCrypto);
  const signature = checkpoints.signStatement(text);
  return { ...evidence, seal: signature === null ? null : { text, signature } };
}
