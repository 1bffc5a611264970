import type { RequestedGrants } from '#contracts/manifest/manifest.ts'

/** A secret that a plugin asks for, or was granted, and the one place for it. */
export type SecretGrant = RequestedGrants['secrets'][number]

/** The header of a grant `in: header` that names none, as in older manifests. */
export const usualHeader = 'authorization'

/** The place of a grant as people read it: the same words for the same place, however it is written. */
export function slotText({ in: kind, at, scheme = 'hex' }: SecretGrant): string {
  switch (kind) {
    case 'header':
      return `header ${(at ?? usualHeader).toLowerCase()}`
    case 'path':
    case 'query':
      return at === undefined ? kind : `${kind} ${at}`
    case 'hmac':
      return `hmac ${scheme}`
    case 'basic':
      return kind
  }
}
