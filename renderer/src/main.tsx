import './styles/base.css';
import './styles/classes.css';
import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import '@mantine/spotlight/styles.layer.css';
import './styles/mantine.css';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { listenForPalette } from './components/layout/paletteKeys.ts';
import { preloadPage } from './pages/pages.ts';
import { useSession } from './state/session.ts';

listenForPalette();

// Both are requested while React renders the frame.
void useSession.getState().load();
preloadPage(window.location.pathname);

const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
