import type { PluginSecrets } from '#contracts/plugin.ts'

/**
 * What stands for a secret in a plugin's hands, for one call: text that came from anywhere else, or out of an earlier
 * call, cannot be one. Safe in a header, in a path and in base64. A name has no hyphen: where it ends is never in doubt.
 */
export const toPlaceholder = (name: string, nonce: string): string =>
  `isola-secret-${name}-${nonce}`

/** With this an isolate makes those of its call itself: `ref` answers at once. */
export const nonceIn = (ref: PluginSecrets['ref']): string =>
  ref('').slice(toPlaceholder('', '').length)
