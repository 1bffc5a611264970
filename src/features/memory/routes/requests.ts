import * as z from 'zod'
import { labelSchema } from '#contracts/label.ts'
import { maxNoteChars } from '../types.ts'
import { memoryScopes, noteKinds } from '#contracts/long-term.ts'
import { listLimit, wantedName } from '#contracts/query-fields.ts'

const text = z.string().min(1).max(maxNoteChars)
const about = {
  kind: z.enum(noteKinds).exactOptional(),
  speaker: z.string().min(1).max(100).exactOptional(),
  caption: z.string().min(1).max(1_000).exactOptional(),
  date: z.string().min(1).max(60).describe('When it was so, in words.').exactOptional(),
  label: labelSchema.describe('Joined with that of what one writes oneself.').exactOptional(),
}
const scope = z.enum(memoryScopes)
const id = z.string().min(1).max(100)

/** `GET /api/memory`. */
export const memoryQuery = z.strictObject({
  scope: scope.describe('All of one’s own if absent; `deployment` alone is not.').optional(),
  agent: wantedName.describe('Of scope `agent`: whose. All if absent.').optional(),
  query: z.string().max(8_000).describe('Best first; without it the newest first.').optional(),
  limit: listLimit.optional(),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be `next` of a page')
    .optional(),
})

/** `DELETE /api/memory`: forgets the notes that fit; without a field all of the caller's own. */
export const forgetQuery = z.strictObject({
  scope: scope.optional(),
  agent: wantedName.optional(),
  session: id.describe('What came from this session, and what was merged with that.').optional(),
})

/** `…/api/memory/:note`. */
export const noteQuery = z.strictObject({
  scope: z.literal('deployment').describe('The deployment’s; one’s own if absent.').optional(),
})

/** `DELETE /api/memory/:note`. */
export const forgetNoteQuery = noteQuery.extend({
  everywhere: z
    .literal('true')
    .describe(
      'Also where one’s conversations quote it. Some at a time: while there is `next`, send it as `after`; ' +
        'the note goes last.',
    )
    .optional(),
  after: id.optional(),
})

/** `POST /api/memory`. */
export const addNotesRequest = z.strictObject({
  scope: scope.default('principal'),
  agent: wantedName.describe('Of scope `agent`: whose.').exactOptional(),
  notes: z
    .array(
      z.strictObject({
        text,
        ...about,
        conversation: z
          .string()
          .min(1)
          .max(200)
          .describe('Turns of one are found by their neighbours, in the order in which they came.')
          .exactOptional(),
        replaces: id
          .describe('Id of a note of the same scope: this one takes its place, and its id.')
          .exactOptional(),
      }),
    )
    .min(1)
    .max(500),
  dryRun: z.boolean().describe('Says what would become of them.').exactOptional(),
})

/** `POST /api/memory/:note`. */
export const editNoteRequest = z.strictObject({ text: text.exactOptional(), ...about })
