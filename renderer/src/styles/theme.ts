import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type MantineThemeOverride,
} from '@mantine/core';

/** The accent colour in ten shades. */
const ink: MantineColorsTuple = [
  '#eef2f9',
  '#dbe3f1',
  '#bdd0f6',
  '#a3bdf0',
  '#7b9bd8',
  '#5579bb',
  '#365a9c',
  '#294c88',
  '#1f3f77',
  '#17315f',
];

const FILLED = {
  background: 'var(--accent)',
  hover: 'var(--accent-strong)',
  color: 'var(--on-accent)',
  border: 'none',
};

const SUBTLE = {
  background: 'transparent',
  hover: 'var(--accent-soft)',
  color: 'var(--accent)',
  border: 'none',
};

const LIGHT_RED = {
  background: 'var(--bad-soft)',
  hover: 'var(--bad-soft)',
  color: 'var(--bad)',
  border: '1px solid var(--bad)',
};
const SUBTLE_RED = { ...SUBTLE, hover: 'var(--bad-soft)', color: 'var(--bad)' };

export const theme: MantineThemeOverride = createTheme({
  colors: { ink },
  primaryColor: 'ink',
  primaryShade: { light: 8, dark: 3 },
  autoContrast: true,
  // In the dark theme the accent is pale and needs dark text; Mantine's auto contrast considers only one
  // theme.
  variantColorResolver: (input) => {
    const isInk = input.color === undefined || input.color === 'ink';
    if (isInk && input.variant === 'filled') return FILLED;
    if (isInk && input.variant === 'subtle') return SUBTLE;
    if (input.color === 'red' && input.variant === 'subtle') return SUBTLE_RED;
    if (input.color === 'red' && input.variant === 'light') return LIGHT_RED;
    return defaultVariantColorsResolver(input);
  },
  defaultRadius: 4,
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-mono)',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.9375rem', lg: '1.0625rem', xl: '1.25rem' },
  headings: { fontFamily: 'var(--font-serif)', fontWeight: '600' },
  breakpoints: { xs: '30em', sm: '40em', md: '64em', lg: '80em', xl: '100em' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Textarea: { defaultProps: { size: 'sm', autosize: true, minRows: 2 } },
    // Dropdowns that open on focus would cover the content for keyboard users who pass through.
    Select: { defaultProps: { size: 'sm', checkIconPosition: 'right', openOnFocus: false } },
    // Otherwise the options of every select of a page are elements of the page before anyone opens one.
    Combobox: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 250, transitionProps: { duration: 80 } } },
    Notification: { styles: { description: { color: 'var(--muted)' } } },
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // A dialog's header must not be a second banner landmark.
    ModalHeader: { defaultProps: { component: 'div' } },
    DrawerHeader: { defaultProps: { component: 'div' } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.35 } } },
  },
});

/** Maps Mantine's variables to the tokens in styles/tokens.css, the single source of colours. */
export const cssVariables: CSSVariablesResolver = () => {
  const shared = {
    '--mantine-color-body': 'var(--paper)',
    '--mantine-color-text': 'var(--text)',
    '--mantine-color-dimmed': 'var(--muted)',
    '--mantine-color-placeholder': 'var(--muted)',
    '--mantine-color-anchor': 'var(--accent)',
    '--mantine-color-error': 'var(--bad)',
    '--mantine-color-default': 'var(--sheet)',
    '--mantine-color-default-hover': 'var(--sunk)',
    '--mantine-color-default-color': 'var(--text)',
    '--mantine-color-default-border': 'var(--line-strong)',
    '--mantine-color-disabled': 'var(--sunk)',
    '--mantine-color-disabled-color': 'var(--muted)',
    '--mantine-color-disabled-border': 'var(--line)',
  };
  return { variables: {}, light: shared, dark: shared };
};
