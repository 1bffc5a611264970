import { firstHidden } from '#contracts/visible-text.ts'

/** Whether a text that a person is shown has something that this person would not see. */
export const hasHidden = (text: string): boolean => firstHidden(text, 'text') !== undefined
