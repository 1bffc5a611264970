import type { Carrier } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import type { UploadDeps } from '../../src/features/plugins/admission/read-upload.ts'
import { checkBundle } from '../../src/features/plugins/admission/parse-bundle.ts'
import { readArchive } from '../../src/features/plugins/admission/read-archive.ts'
import { noNetwork, sendOver } from './outbound.ts'
import { systemSources } from '../../src/compose/sources.ts'

export const manifestText = `id: github-tools
name: GitHub tools
version: 0.1.0
entrypoint: main.js
description: Searches issues.
contributes:
  tools:
    - { name: search, description: Searches issues. }
`

export const code =
  "import { ToolError } from 'isola/plugin'\nexport default () => ({ tools: {} })\n"

/** A folder that may be installed. */
export const folder = { 'plugin.yaml': manifestText, 'main.js': code, 'README.md': '# GitHub' }

export interface FakeUploadDeps extends Partial<UploadDeps> {
  /** In the place of the network, beneath the one way out. */
  readonly fetch?: Carrier
  readonly clock?: Pick<Clock, 'sleep'>
  readonly isDevelopment?: boolean
}

export function uploadDeps(given: FakeUploadDeps = {}): UploadDeps {
  const { fetch = noNetwork, clock = systemSources.clock, isDevelopment, ...overrides } = given
  return {
    sha256: systemSources.sha256,
    // As in its isolate, and checked as what comes out of one.
    readArchive: async (bytes) => checkBundle(readArchive(bytes)),
    send: sendOver(fetch, { sleep: clock.sleep, ...(isDevelopment && { isDevelopment }) }),
    ...overrides,
  }
}
