import type { Sharing } from '../../../../shared/node/settings.ts';
import { Section } from '../../components/layout/Section.tsx';
import classes from './SharingPage.module.css';

/** Explains who can see and do what in the current sharing mode. */
export function Permissions({ sharing }: { sharing: Sharing }) {
  const isShared = sharing.mode !== 'off';
  const others = !isShared
    ? 'Nobody else can reach it.'
    : 'Anyone on your network who knows an address can read all packs, studies, comments, sources, events, archived objects and the ledger, without signing in. Visitors are not identified. The node stores only how much each address wrote, for one day.';
  return (
    <Section title="Permissions">
      <dl className={classes.words}>
        <div>
          <dt>You</dt>
          <dd>Full access. You are the owner in every signed-in browser and with your token.</dd>
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
          <dt>Owner only</dt>
          <dd>
            Settings, sharing and invitations, drafts, jobs, and adding, changing or checking sources. Nobody,
            including you, can change or remove anything in the archive.
          </dd>
        </div>
      </dl>
    </Section>
  );
}

function contributions({ mode, require_invitation }: Sharing): string {
  if (mode !== 'contribute') return 'Only you.';
  const who = require_invitation ? 'Anyone with an invitation' : 'Anyone who can reach the node';
  return `${who} can add packs, studies, subjects, comments and flags, and change a study’s status. The limits in the settings apply to each address and to all visitors together, but never to you.`;
}
