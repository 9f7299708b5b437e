//! `memory …`, as clap sees it.

use clap::Subcommand;

use super::{Wait, parse_any, parse_theme};
use crate::store::AnyId;

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Themes, their facts, the episodes and the messages behind them
    Tree {
        /// 1 themes, 2 facts, 3 episodes, 4 messages
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=4))]
        depth: u8,
        /// Only this theme
        #[arg(long, value_name = "ID", value_parser = parse_theme)]
        theme: Option<crate::memory::ThemeId>,
        #[arg(long)]
        json: bool,
    },
    /// Facts, episodes and messages about something, best first
    Search {
        #[arg(required = true)]
        query: Vec<String>,
        /// How many
        #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
        k: u16,
        #[arg(long)]
        json: bool,
    },
    /// What came of imports, the newest first, as far as you have not kept it in the chat (/learned)
    Learned {
        /// Only this import: its file's name
        import: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// One theme (t2), fact (s31), episode (e4), message (m12) or session (c3)
    Show {
        #[arg(value_parser = parse_any)]
        id: AnyId,
        #[arg(long)]
        json: bool,
    },
    /// Correct a fact, an episode's text, or a theme's name
    Edit {
        #[arg(value_parser = parse_any)]
        id: AnyId,
        /// The new text, or `-` for stdin
        text: String,
        /// A new title (episodes only)
        #[arg(long)]
        title: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Erase for good: messages, and all that was derived from them
    Forget {
        /// Themes, facts, episodes, messages or sessions (t2 s31 e4 m12 c3)
        #[arg(value_parser = parse_any, required_unless_present_any = ["matching", "redact", "source"])]
        ids: Vec<AnyId>,
        /// Every message and fact that contains this text
        #[arg(long = "match", value_name = "TEXT", id = "matching")]
        matching: Option<String>,
        /// All chats that first came from this file, by its name in `session list`
        #[arg(long, value_name = "NAME", conflicts_with_all = ["ids", "matching", "redact", "only"])]
        source: Option<String>,
        /// Only the facts: their messages stay, and the facts are not made from them again
        #[arg(long, conflicts_with_all = ["matching", "redact"])]
        only: bool,
        /// Only these words: the messages stay without them, and what was made of them is made anew
        #[arg(long, value_name = "TEXT", conflicts_with_all = ["ids", "matching"])]
        redact: Option<String>,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Take back your newest correction or renaming
    Undo {
        /// Or what the program settled by itself, if that is newer
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Make a new memory of what can be read of a damaged one, which is kept
    Repair(Wait),
    /// Make episodes, facts and themes anew from the messages; corrections stay
    Rebuild {
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Encrypt the memory with a passphrase (or the first line of the file in INGLENOOK_PASSPHRASE_FILE)
    Encrypt(Wait),
    /// Write the memory without encryption
    Decrypt(Wait),
    /// Encrypt the memory with another passphrase
    Rekey(Wait),
    /// The passphrase in the system's keyring (where this program is built with the feature `keyring`)
    #[command(subcommand)]
    Keyring(Keyring),
    /// How much there is
    Stats {
        #[arg(long)]
        json: bool,
    },
    /// Check that nothing is lost, doubled or out of place
    Verify {
        #[arg(long)]
        json: bool,
    },
    /// Build what is still to be built, and settle contradictions
    Consolidate {
        /// Do it now, and come back when all is done
        #[arg(long)]
        wait: bool,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Keyring {
    /// Let the keyring hold the passphrase: it is not asked for while the keyring is unlocked
    Store,
    /// Take the passphrase out of the keyring again
    Forget,
}
