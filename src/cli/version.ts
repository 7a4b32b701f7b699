/** Our version, put in by the bundler; unbundled code is a development copy. */
declare const FARHAND_VERSION: string | undefined;

export const VERSION = typeof FARHAND_VERSION === 'string' ? FARHAND_VERSION : '0.0.0-dev';
