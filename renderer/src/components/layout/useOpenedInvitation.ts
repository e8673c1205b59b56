import { useEffect } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { invitationInFragment, useInvitationLink } from '../../state/invitationLink.ts';

/**
 * Accepts the invitation in the address, if there is one. The address is replaced first, so that the token stays neither
 * in the address bar nor in the history.
 */
export function useOpenedInvitation(): void {
  const { hash } = useLocation();
  const navigate = useNavigate();
  const accept = useInvitationLink((link) => link.accept);
  useEffect(() => {
    const token = invitationInFragment(hash);
    if (token === undefined) return;
    void navigate('/sharing', { replace: true });
    void accept(token);
  }, [hash, navigate, accept]);
}
