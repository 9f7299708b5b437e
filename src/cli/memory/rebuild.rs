//! `memory rebuild`: derives episodes, facts and themes anew.

use super::super::App;
use super::super::report::{Outcome, done};
use super::consolidate;

pub fn run(app: &App, yes: bool) -> Outcome {
    let store = app.open()?;
    let [messages, episodes, facts, themes] = super::unit_counts(&store.read(|r| r.stats())?);
    let what = format!(
        "From {messages}, {episodes}, {facts} and {themes} are made anew. What you corrected or struck out stays so; names of themes \
         and texts of episodes that you changed go, and the undo log. With a model this may take hours; it goes on in the chat."
    );
    app.console.line(&what)?;
    if !yes && !app.console.confirm("Make them anew?")? {
        app.console.line("Nothing was changed.")?;
        return done();
    }
    // Before anything is taken away.
    let models = app.models()?;
    store.write(|tx| tx.derive_anew())?;
    consolidate::build(app, &store, &models)
}
