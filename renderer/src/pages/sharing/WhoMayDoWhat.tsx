import type { Sharing } from '../../../../shared/settings.ts';
import { Section } from '../../components/layout/Section.tsx';
import classes from './SharingPage.module.css';

/** In words, who sees and does what as the node is shared now. */
export function WhoMayDoWhat({ sharing }: { sharing: Sharing }) {
  const isShared = sharing.mode !== 'off';
  const others = !isShared
    ? 'Nobody else reaches it.'
    : 'Whoever is on your network and knows an address reads all packs, studies, comments, sources, events, archived objects and the ledger, without signing in. No page asks who they are, and nothing about them is kept but, for a day, how much each address wrote.';
  return (
    <Section title="Who may see and do what">
      <dl className={classes.words}>
        <div>
          <dt>You</dt>
          <dd>Everything: you are the owner, in each browser that is signed in and with your token.</dd>
        </div>
        <div>
          <dt>Others</dt>
          <dd>{others}</dd>
        </div>
        {isShared && (
          <div>
            <dt>Contributions</dt>
            <dd>{contributions(sharing)}</dd>
          </div>
        )}
        <div>
          <dt>Never for others</dt>
          <dd>
            Settings, sharing and invitations, drafts, jobs, and adding, changing or checking sources. Nothing
            that is in the archive can be changed or removed by anybody, you included.
          </dd>
        </div>
      </dl>
    </Section>
  );
}

function contributions({ mode, require_invitation }: Sharing): string {
  if (mode !== 'contribute') return 'Only yours.';
  const who = require_invitation ? 'Whoever has an invitation' : 'Whoever reaches the node';
  return `${who} may add packs, studies, nodes, comments and flags, and move studies on. The limits in the settings bound how much an address, and all of them together, may write; you are never refused by them.`;
}
