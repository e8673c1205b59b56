import { Button } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { CreatedInvitation } from '../../../../shared/node/invitation.ts';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import classes from './SharingPage.module.css';

/** The token of a new invitation. It cannot be shown again. */
export function InvitationToken({
  invitation,
  onDone,
}: {
  invitation: CreatedInvitation;
  onDone: () => void;
}) {
  const panel = useRef<HTMLElement>(null);
  // Moves the focus here, because the token is shown only once.
  useEffect(() => panel.current?.focus(), []);
  return (
    <section ref={panel} tabIndex={-1} aria-label="New invitation" className={`${classes.token} sheet`}>
      <p>
        <strong>{invitation.name ? `Invitation for ${invitation.name}` : 'Invitation'}</strong>: send this
        token to the person. It is shown only once. The node stores only its digest.
      </p>
      <p className={classes.secret}>
        <code className="wrap-anywhere">{invitation.token}</code>
        <CopyButton text={invitation.token} what="the token" />
      </p>
      <Button variant="default" size="xs" onClick={onDone}>
        Done
      </Button>
    </section>
  );
}
