import type { UploadDeps } from '../../src/plugins/install/read-upload.ts'
import { checkBundle } from '../../src/plugins/install/parse-bundle.ts'
import { readArchive } from '../../src/plugins/install/read-archive.ts'
import { systemSources } from '../../src/sources.ts'

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

export function uploadDeps(overrides: Partial<UploadDeps> = {}): UploadDeps {
  return {
    clock: systemSources.clock,
    sha256: systemSources.sha256,
    isDevelopment: false,
    // As in its isolate, and checked as what comes out of one.
    readArchive: async (bytes) => checkBundle(readArchive(bytes)),
    fetch: async () => {
      throw new Error('no network in tests')
    },
    ...overrides,
  }
}
