/** The time of day of a moment, as the page's language writes it: `14:02`. Pure but for the time zone. */
export function timeOfDay(moment: string | Date, language: string): string {
  return new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' }).format(new Date(moment))
}
