import { describe, expect, it } from 'vitest'
import { readUpload } from '../../src/features/plugins/admission/read-upload.ts'
import { uploadDeps } from '../fakes/uploads.ts'
import { tricks } from './archive-tricks.ts'

describe.each(tricks)('T26: an archive is refused, %s', (_group, those) => {
  it.each(those)('%s', async (_name, archive, message) => {
    const refusal = await readUpload({ zip: archive() }, uploadDeps()).catch(
      (error: unknown) => error,
    )
    expect(refusal).toMatchObject({
      code: expect.stringMatching(/^plugin_(upload|manifest)_invalid$/) as unknown,
      message: expect.stringMatching(message) as unknown,
    })
    // A refusal is one short line of visible characters, whatever it quotes of the archive.
    expect((refusal as Error).message).toMatch(/^[^\p{Cc}\u202E\u200B]{10,700}$/u)
  })
})
