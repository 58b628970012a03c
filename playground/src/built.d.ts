/** What the build takes from the report and from the extension for VS Code; see scripts/bundle.mjs. */
declare module 'built' {
  import type { Grammar } from './textmate';
  export const ispl: Grammar;
  export const reportStyle: string;
  export const tip: string;
  export function enliven(root: ParentNode): void;
}

declare module 'listed' {
  export const files: string[];
  export const version: string;
}
