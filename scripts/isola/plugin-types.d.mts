import type { Manifest } from '../../src/contracts/manifest.ts'

/** The module types/inputs.ts of a manifest. */
export declare function inputTypes(manifest: Pick<Manifest, 'contributes'>): string
