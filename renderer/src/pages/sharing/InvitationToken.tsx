import { Button, NativeSelect } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import type { CreatedInvitation } from '../../../../shared/node/invitation.ts';
import type { SharingMode } from '../../../../shared/node/settings.ts';
import { useCall } from '../../api/useCall.ts';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import { invitationLink } from '../../state/invitationLink.ts';
import { QrCode } from './QrCode.tsx';
import classes from './SharingPage.module.css';

export interface InvitationTokenProps {
  invitation: CreatedInvitation;
  mode: SharingMode;
  onDone: () => void;
}

/** A new invitation as a link, a QR code and a token. It cannot be shown again. */
export function InvitationToken({ invitation, mode, onDone }: InvitationTokenProps) {
  const panel = useRef<HTMLElement>(null);
  // Moves the focus here, because the invitation is shown only once.
  useEffect(() => panel.current?.focus(), []);
  const { origins, origin, choose } = useOrigin(mode);
  const link = invitationLink(origin, invitation.token);
  return (
    <section ref={panel} tabIndex={-1} aria-label="New invitation" className={`${classes.token} sheet`}>
      <p>
        <strong>{invitation.name ? `Invitation for ${invitation.name}` : 'Invitation'}</strong>: send the link
        to the person, or let them scan the code. It is shown only once. The node stores only its digest.
      </p>
      <div className={classes.carried}>
        <dl className={classes.ways}>
          {origins.length > 1 && (
            <div>
              <dt id="invitation-address">Address</dt>
              <dd>
                <NativeSelect
                  aria-labelledby="invitation-address"
                  data={origins}
                  value={origin}
                  onChange={(event) => choose(event.currentTarget.value)}
                />
              </dd>
            </div>
          )}
          <div>
            <dt>Link</dt>
            <dd className={classes.secret}>
              <span className="mono wrap-anywhere">{link}</span>
              <CopyButton text={link} what="the link" />
            </dd>
          </div>
          <div>
            <dt>Token, for programs</dt>
            <dd className={classes.secret}>
              <code className="wrap-anywhere">{invitation.token}</code>
              <CopyButton text={invitation.token} what="the token" />
            </dd>
          </div>
        </dl>
        <figure className={classes.scan}>
          <QrCode text={link} label="QR code of the invitation link" className={classes.code} />
          <figcaption className="muted small">Opens the link on a phone.</figcaption>
        </figure>
      </div>
      {mode !== 'contribute' && (
        <p className="muted">
          Contributions are off at the moment. The invitation takes effect when you turn them on.
        </p>
      )}
      <Button variant="default" size="xs" onClick={onDone}>
        Done
      </Button>
    </section>
  );
}

/** The address in the link. The public address comes first. Without a network there is only that of this page. */
function useOrigin(mode: SharingMode) {
  const answer = useCall('readAddresses', {}, { enabled: mode !== 'off' });
  const [chosen, choose] = useState<string>();
  const found = answer.data?.addresses.map(({ url }) => new URL(url).origin) ?? [];
  const origins = found.length > 0 ? found : [window.location.origin];
  const origin = origins.find((one) => one === chosen) ?? origins[0] ?? window.location.origin;
  return { origins, origin, choose };
}
